"""The engine inside other frameworks: one module for each, which alone imports the framework.

Every module has its `LoopGuard`, which is what the framework hooks in. Nothing is imported here, so
``import antiloop.integrations`` needs no framework.
"""
