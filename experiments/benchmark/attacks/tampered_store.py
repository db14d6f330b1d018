"""A tampered store: the entry of the right answer in the vector store gets the text of a wrong one.

Whoever can write to a shared vector store needs no file. The runner lets each system that keeps texts or vectors in
such a store suffer it (`System.tamper`), and undoes it after the questions.
"""

from experiments.benchmark.attacks.base import Proof, Reused

ATTACK = Reused(
    "tampered_store",
    "store",
    "the text of the right answer is rewritten in the vector store",
    "targeted",
    Proof.STORE,
    variants=("same-name",),
)
