/**
 * The only script that runs in a frame with a machine's HTML: it tells the page how high the
 * content is, with its horizontal scroll bar; of a figure once there is any. It also tells when the
 * person turns the wheel or drags a finger over the frame: the page does not see that itself. The
 * page's and the frame's policies allow it by its digest, for a frame with a figure also Plotly and
 * FIGURE_SCRIPT, and nothing else. Imported by vite.shared.ts: keep it free of imports.
 */
export const FRAME_SCRIPT =
  'const report=()=>document.querySelector("#plot:empty")||' +
  '(({offsetHeight,clientHeight})=>parent.postMessage({forevervmHeight:offsetHeight+innerHeight-clientHeight},"*"))' +
  '(document.documentElement);' +
  'new ResizeObserver(report).observe(document.documentElement);report();' +
  'for(const kind of["wheel","touchmove"])' +
  'addEventListener(kind,()=>parent.postMessage({forevervmTouched:true},"*"),{passive:true,capture:true});';

/**
 * Draws the figure that stands beside it, with Plotly, which the frame has run before. What is too
 * large for any screen is cut down; a click on "download" could not save anything from within such
 * a frame, so the page asks for a picture (see picture.ts). Nobody is told of maps that cannot be
 * fetched but who looks at the figure.
 */
export const FIGURE_SCRIPT =
  'for(const kind of["error","unhandledrejection"])addEventListener(kind,(e)=>e.preventDefault());' +
  'const drawn=(async()=>{const figure=JSON.parse(document.getElementById("figure").textContent)||{},layout=figure.layout||{};' +
  'for(const one of[layout,layout.template&&layout.template.layout])for(const[side,most]of[["width",4000],["height",4000]])' +
  'if(one&&!(one[side]>0&&one[side]<=most))delete one[side];' +
  'await Plotly.newPlot("plot",figure.data||[],layout,' +
  '{responsive:true,displaylogo:false,modeBarButtonsToRemove:["toImage"],plotlyServerURL:""});' +
  'if(figure.frames)await Plotly.addFrames("plot",figure.frames)})()' +
  '.catch((e)=>{document.getElementById("plot").textContent="This figure cannot be drawn: "+(e&&e.message||e)});' +
  'addEventListener("message",async({source,data})=>{if(source!==parent||!data||!data.forevervmPicture)return;' +
  'const{forevervmPicture,format}=data,png=format==="png";let picture;await drawn;' +
  'try{const made=await Plotly.toImage("plot",{format,width:null,height:null,scale:png?2:1,imageDataOnly:true});' +
  'picture=new Blob([png?Uint8Array.from(atob(made),(c)=>c.charCodeAt(0)):made])}catch{}' +
  'parent.postMessage({forevervmPicture,picture},"*")});';
