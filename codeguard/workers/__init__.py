"""Worker processes that can be killed, and limits on the resources of a task.

A task is a function from bytes to bytes. Imports nothing of codeguard except models and errors.
"""
