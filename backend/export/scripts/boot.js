const plotly = document.getElementById('plotly').textContent, draw = document.getElementById('draw').textContent;
const fill = (frame) => {
  const data = frame.previousElementSibling.textContent, end = '</' + 'script>';
  frame.srcdoc = '<!doctype html><style>html,body,#plot{margin:0;height:100%}@media print{.modebar{display:none!important}}</style><div id="plot"></div>' +
    '<script type="application/json" id="data">' + data + end + '<script>' + plotly + end + '<script>' + draw + end;
  watch.unobserve(frame);
};
const watch = new IntersectionObserver((all) => {
  for (const one of all) if (one.isIntersecting) fill(one.target);
}, { rootMargin: '600px' });
for (const frame of document.querySelectorAll('iframe[data-figure]')) {
  // Paper has all of them at once.
  if (document.body.dataset.paper === undefined) watch.observe(frame);
  else fill(frame);
}
