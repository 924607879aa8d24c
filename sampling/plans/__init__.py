"""Sampling plans that are added to a host: asked for, checked, written, taken out."""
