"""The wording of every question put to a language model, as versioned files, and their reading.

Belongs here: `name.vN.md` files and the library that loads and fills them.
Does not: what stands in the placeholders and what is made of an answer (stages).
"""
