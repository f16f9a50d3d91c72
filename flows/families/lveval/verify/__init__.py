"""Proves that each of LV-Eval's finished rows is what it claims.

The verifier shares nothing with the builder but the schemas, the language, the scorer's words and the list of
datasets. It computes everything again with its own code. It reads rows one at a time and forgets a context before
the next: to compare the levels of a pair, it keeps checksums.
"""
