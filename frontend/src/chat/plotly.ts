/** Stands for $lib/output/plotly in the chat page, which gets Plotly through the app. */
export let plotly = (): Promise<string> => Promise.reject(new Error('Not connected.'));

export function setPlotly(get: () => Promise<string>): void {
  let once: Promise<string> | undefined;
  plotly = () => (once ??= get());
}
