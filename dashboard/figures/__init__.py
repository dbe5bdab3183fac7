"""Pure builders: data of the API in, Plotly figure out."""
