import { mount } from 'svelte';
import './app.css';
import Page from '$components/views/Page.svelte';

const target = document.getElementById('page');
if (!target) throw new Error('index.html has no place for the page.');
mount(Page, { target });
