import address from 'plotly.js-strict-dist-min/plotly-strict.min.js?url';

/** Plotly's code: five megabytes, which the page has only once a figure is seen. */
export async function plotly(): Promise<string> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`Plotly did not come: ${response.status}`);
  return response.text();
}
