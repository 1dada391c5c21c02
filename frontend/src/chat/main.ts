import { mount } from 'svelte';
import '../app.css';
import './chat.css';
import { saveThrough } from '$lib/save';
import { speak } from '$lib/words';
import { Host } from './host.svelte';
import { setPlotly } from './plotly';

// What an AI app shows under a call of a tool (MCP Apps). The app frames it, and is all it reaches.
const target = document.getElementById('page');
if (!target) throw new Error('chat.html has no place for the page.');

const host = new Host();
setPlotly(() => host.plotly());
saveThrough((name, content) => host.save(name, content));
await host.connect();
await speak([host.context.locale ?? '', ...navigator.languages]);
const { default: Chat } = await import('./Chat.svelte');
mount(Chat, { target, props: { host } });
