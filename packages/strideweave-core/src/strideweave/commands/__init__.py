"""The layout command language behind every description string; public path `strideweave.einops`."""
