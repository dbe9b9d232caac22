"""Inference: rows to statistics, statistics to evidence and posterior."""
