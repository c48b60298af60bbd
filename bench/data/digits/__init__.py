"""UCI's hand-written digits, in the format of torchvision.datasets.MNIST; see ATTRIBUTION.md."""
