"""Tables of scikit-learn and from formulas: the estimators beside those of scikit-learn."""
