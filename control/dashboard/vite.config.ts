import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/*
 * Builds the dashboard to static files. Paths are relative to <base>, which the service fills in, so that the dashboard
 * also works below a path prefix of a proxy. Fonts and images stay files: the content security policy allows no data: fonts.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [react()],
  html: { cspNonce: '__NONCE__' },
  build: {
    outDir: '../../.build/dashboard',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    manifest: true,
    // The packages in the bundle with their licences; a test compares them with NOTICE.
    license: { fileName: '.vite/license.json' },
    target: 'es2022',
    // Browsers with `light-dark()`: a rewritten one would not follow the colours that the user chose.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
})
