import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './style.css'
import { createTheme, MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { ParleyError } from '../../../clients/typescript/errors.js'
import { LanguageProvider } from './i18n.js'
import { openRouter } from './router.js'

/** Letters of the system; those of Hindi come with the dashboard, because not every system has them. */
const FONTS =
  '-apple-system, BlinkMacSystemFont, Segoe UI, Roboto, Helvetica, Arial, Noto Sans Devanagari, sans-serif'

const theme = createTheme({
  fontFamily: FONTS,
  headings: { fontFamily: FONTS },
  primaryColor: 'cyan',
  // Contrast of white text on the primary colour is at least 4.5 : 1 (WCAG 2.2, 1.4.3).
  primaryShade: { light: 9, dark: 9 },
  autoContrast: true,
  cursorType: 'pointer',
  // Dialogs open at once for users who asked their system for less motion.
  respectReducedMotion: true,
})

/** Messages come after the first screen, which does not wait for their code. */
const Notifications = lazy(() =>
  import('@mantine/notifications').then((module) => ({ default: module.Notifications })),
)

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The client repeats what may be repeated.
      retry: false,
    },
    mutations: { retry: false },
  },
})

// A signed-in page whose session ended shows the sign-in again.
queries.getQueryCache().subscribe(({ query }) => {
  const { error } = query.state
  if (error instanceof ParleyError && error.status === 401 && query.queryKey[0] !== 'session') {
    queries.setQueryData(['session'], null)
  }
})

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
// For the style with which an open dialog stops the page behind it from scrolling.
setNonce(nonce)
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root element.')

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <LanguageProvider>
          <Suspense>
            <Notifications position="bottom-center" />
          </Suspense>
          <RouterProvider router={openRouter()} />
        </LanguageProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
