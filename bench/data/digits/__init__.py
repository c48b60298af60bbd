"""UCI's hand-written digits in the layout that torchvision.datasets.MNIST reads; see ATTRIBUTION.md."""
