"""What is wrong with rule files: findings with a severity and one next step each, as text, JSON and SARIF."""
