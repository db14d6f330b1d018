"""The parts of an audit: what is read, what looks at it, who may overrule it. `codeguard.audit` joins them."""
