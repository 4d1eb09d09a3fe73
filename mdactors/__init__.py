"""The platform: pure cores, engines, substrates, runtime, and what people touch."""

__version__ = "0.1.0"
