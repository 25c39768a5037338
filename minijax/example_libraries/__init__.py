"""Chapter 16: two small libraries that many JAX programs start from, layers and optimisers."""
