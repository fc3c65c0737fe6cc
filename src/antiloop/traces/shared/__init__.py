"""What several readers need."""
