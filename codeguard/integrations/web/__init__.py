"""A web site on this machine over a guarded index (extra `index`).

In come requests from a browser of the user who started it, out go pages. `gate` decides who may ask, `site` makes
the answers, `application` joins the two under bounds, `server` binds it to the loopback address. It is an
application of plain ASGI: chromadb brings the server, uvicorn, and no framework.
"""
