"""Manifests of trusted code, acceptances, and the state and secrets of this installation.

Trees, keys and signatures come in, a `VerifiedManifest` goes out; only `codeguard.trust.verify` and
`verify_unsigned` create one. Modules that sign and verify, with cryptography, are imported where they
are used, because most audits involve no signature. May import `config` and `corpus`.
"""
