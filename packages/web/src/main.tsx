import { render } from 'preact';
import { App } from './app.tsx';
import { preloadPage } from './routes.ts';
import { pollDatasets } from './state/datasets.ts';
import { startRemPixels } from './state/rem-pixels.ts';
import { startRouter } from './state/router.ts';
import { startTheme } from './state/theme.ts';
import './styles/fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/components.css';
import './styles/controls.css';
import './styles/print.css';

// The code of the page and the list of datasets are requested before the frame of the page is rendered.
preloadPage(location.pathname);
pollDatasets(new AbortController().signal).catch(reportError);
startTheme();
startRemPixels();
startRouter();
const page = document.getElementById('app');
if (page !== null) render(<App />, page);
