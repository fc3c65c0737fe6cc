"""The engine inside other frameworks: one module for each, which alone imports the framework.

Every adapter has its `LoopGuard`, which is what the framework hooks in; `otel`, which only watches,
has its `LoopSpanProcessor`. What they share is in `guard` and `call_guard`. Nothing is imported
here, so ``import antiloop.integrations`` needs no framework.
"""
