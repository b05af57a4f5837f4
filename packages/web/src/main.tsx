import { render } from 'preact';
import { App } from './app.tsx';
import { pollDatasets } from './state/datasets.ts';
import { startRouter } from './state/router.ts';
import { startTheme } from './state/theme.ts';
import './styles/fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/components.css';
import './styles/controls.css';
import './styles/print.css';

startTheme();
startRouter();
const page = document.getElementById('app');
if (page !== null) render(<App />, page);
pollDatasets(new AbortController().signal).catch(reportError);
