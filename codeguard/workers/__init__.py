"""Worker processes that can be ended, and the bounds on what a task may take.

A task is a function of bytes that returns bytes. Imports nothing of codeguard but models and errors.
"""
