"""A local web site over a guarded index (extra `index`).

Requests come in from a browser of the user who started it, pages go out. `gate` controls access, `site`
builds the answers, `application` combines the two within limits, `server` binds it to the loopback address.
It is a plain ASGI application: chromadb already depends on the server, uvicorn, and no framework is needed.
"""
