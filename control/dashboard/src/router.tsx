import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { Missing } from './parts/Problem.js'
import { Shell } from './parts/Shell.js'

const root = createRootRoute({ component: Outlet, notFoundComponent: Missing })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('./screens/SignIn.js'), 'SignIn'),
})
const signUp = createRoute({
  getParentRoute: () => root,
  path: '/sign-up',
  component: lazyRouteComponent(() => import('./screens/SignUp.js'), 'SignUp'),
})
const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/$environment', params: { environment: 'test' } })
  },
})
/** The environment is part of the address, so that a link never shows the data of the other one. */
const shell = createRoute({ getParentRoute: () => root, path: '/$environment', component: Shell })

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('./screens/Overview.js'), 'Overview'),
})

export interface CallSearch {
  readonly search?: string
  readonly status?: string
  readonly direction?: 'inbound' | 'outbound'
  readonly place?: true
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined

const calls = createRoute({
  getParentRoute: () => shell,
  path: '/calls',
  component: lazyRouteComponent(() => import('./screens/Calls.js'), 'Calls'),
  validateSearch: ({ search, status, direction, place }: Record<string, unknown>): CallSearch => ({
    ...(text(search) === undefined ? {} : { search: text(search) as string }),
    ...(text(status) === undefined ? {} : { status: text(status) as string }),
    ...(direction === 'inbound' || direction === 'outbound' ? { direction } : {}),
    ...(place === true ? { place } : {}),
  }),
})
const call = createRoute({
  getParentRoute: () => shell,
  path: '/calls/$id',
  component: lazyRouteComponent(() => import('./screens/Call.js'), 'Call'),
})
const agents = createRoute({
  getParentRoute: () => shell,
  path: '/agents',
  component: lazyRouteComponent(() => import('./screens/Agents.js'), 'Agents'),
})
const agent = createRoute({
  getParentRoute: () => shell,
  path: '/agents/$id',
  component: lazyRouteComponent(() => import('./screens/Agent.js'), 'Agent'),
})
const numbers = createRoute({
  getParentRoute: () => shell,
  path: '/numbers',
  component: lazyRouteComponent(() => import('./screens/Numbers.js'), 'Numbers'),
})
const campaigns = createRoute({
  getParentRoute: () => shell,
  path: '/campaigns',
  component: lazyRouteComponent(() => import('./screens/Campaigns.js'), 'Campaigns'),
})
const campaign = createRoute({
  getParentRoute: () => shell,
  path: '/campaigns/$id',
  component: lazyRouteComponent(() => import('./screens/Campaign.js'), 'Campaign'),
})
const compliance = createRoute({
  getParentRoute: () => shell,
  path: '/compliance',
  component: lazyRouteComponent(() => import('./screens/Compliance.js'), 'Compliance'),
})
const wallet = createRoute({
  getParentRoute: () => shell,
  path: '/wallet',
  component: lazyRouteComponent(() => import('./screens/Wallet.js'), 'Wallet'),
})
const keys = createRoute({
  getParentRoute: () => shell,
  path: '/keys',
  component: lazyRouteComponent(() => import('./screens/Keys.js'), 'Keys'),
})
const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./screens/Webhooks.js'), 'Webhooks'),
})
const events = createRoute({
  getParentRoute: () => shell,
  path: '/events',
  component: lazyRouteComponent(() => import('./screens/Events.js'), 'Events'),
})

const tree = root.addChildren([
  signIn,
  signUp,
  start,
  shell.addChildren([
    overview,
    calls,
    call,
    agents,
    agent,
    numbers,
    campaigns,
    campaign,
    compliance,
    wallet,
    keys,
    webhooks,
    events,
  ]),
])

/** Opens the router below the path of the dashboard, which may have the prefix of a proxy. */
export function openRouter() {
  return createRouter({
    routeTree: tree,
    basepath: new URL(document.baseURI).pathname.replace(/\/$/, ''),
    defaultPreload: 'intent',
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof openRouter>
  }
}
