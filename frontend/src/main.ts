import { mount } from 'svelte';
import './app.css';
import { speakInTray } from '$lib/api/connection';
import { Appearance } from '$lib/state/appearance.svelte';
import { speak } from '$lib/words';

const target = document.getElementById('page');
if (!target) throw new Error('index.html has no place for the page.');

// The language first: what the page consists of says something as soon as it is loaded.
const { value: language } = new Appearance().language;
await speak(language === 'system' ? navigator.languages : [language]);
void speakInTray(document.documentElement.lang);
const [, place, code = ''] = location.pathname.split('/');
if (place === 'drop') {
  const { default: Drop } = await import('./drop/Drop.svelte');
  mount(Drop, { target, props: { code } });
} else {
  const { default: Page } = await import('$components/views/Page.svelte');
  mount(Page, { target });
}
