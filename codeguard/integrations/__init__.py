"""Defenses for existing retrieval: a Chroma collection, LangChain, LlamaIndex, an MCP server.

Each has its own module, and each feeds a model directly, so mode "drop" is the default. Additional
dependencies of a module are an extra of its name. May import everything except `cli`.
"""
