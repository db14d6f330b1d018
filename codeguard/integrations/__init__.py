"""Other people's retrieval, defended: a Chroma collection, LangChain, LlamaIndex, an MCP server.

Each is imported by its module; each feeds a model directly, so mode "drop" is
the default. What a module needs beside codeguard is an extra of its name. May import everything but `cli`.
"""
