"""The engine inside other frameworks: one module for each, which alone imports the framework.

Every adapter has its `LoopGuard`, which is what the framework hooks in; `otel`, which only watches,
has its `LoopSpanProcessor`. What they share is in `lookout`, and in `guard` for those that see a
conversation, in `call_guard` for those that see single calls. Nothing is imported here, so
``import antiloop.integrations`` needs no framework.
"""
