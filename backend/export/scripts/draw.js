const figure = JSON.parse(document.getElementById('data').textContent);
const layout = { ...figure.layout, autosize: true, width: undefined, height: undefined };
Plotly.newPlot('plot', figure.data || [], layout, { responsive: true, displaylogo: false });
