"""The twin of a host as DTDL (Digital Twins Definition Language), and back.

Pure: triples in, a document out, and vice versa; `source` holds the SPARQL that selects
the triples. https://azure.github.io/opendigitaltwins-dtdl/DTDL/v3/DTDL.v3.html
"""
