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

/** The filters of the list of calls, and whether its dialog is open. Days are `2026-11-26`, in Indian time. */
export interface CallSearch {
  readonly search?: string
  readonly status?: string
  readonly direction?: 'inbound' | 'outbound'
  readonly disposition?: string
  readonly agentId?: string
  readonly numberId?: string
  readonly campaignId?: string
  readonly from?: string
  readonly until?: string
  readonly place?: true
}
const CALL_TEXTS = ['search', 'status', 'disposition', 'agentId', 'numberId', 'campaignId'] as const
const CALL_DAYS = ['from', 'until'] as const

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined

/** A page below the environment. Its code loads when it is opened. */
const below = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => shell, path, component })

const calls = createRoute({
  getParentRoute: () => shell,
  path: '/calls',
  component: lazyRouteComponent(() => import('./screens/Calls.js'), 'Calls'),
  validateSearch: (given: Record<string, unknown>): CallSearch => ({
    ...Object.fromEntries(
      CALL_TEXTS.flatMap((name) => {
        const value = text(given[name])
        return value === undefined ? [] : [[name, value]]
      }),
    ),
    ...Object.fromEntries(
      CALL_DAYS.flatMap((name) =>
        /^\d{4}-\d{2}-\d{2}$/.test(String(given[name])) ? [[name, given[name]]] : [],
      ),
    ),
    ...(given.direction === 'inbound' || given.direction === 'outbound'
      ? { direction: given.direction }
      : {}),
    ...(given.place === true ? { place: true } : {}),
  }),
})

export interface TabSearch {
  readonly tab?: string
}
const tabSearch = ({ tab }: Record<string, unknown>): TabSearch =>
  text(tab) === undefined ? {} : { tab: text(tab) as string }

const wallet = createRoute({
  getParentRoute: () => shell,
  path: '/wallet',
  component: lazyRouteComponent(() => import('./screens/Wallet.js'), 'Wallet'),
  validateSearch: tabSearch,
})
const settings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  component: lazyRouteComponent(() => import('./screens/Settings.js'), 'Settings'),
  validateSearch: tabSearch,
})

export interface LiveSearch {
  /** The call whose drawer is open. */
  readonly call?: string
}
const liveCalls = createRoute({
  getParentRoute: () => shell,
  path: '/live-calls',
  component: lazyRouteComponent(() => import('./screens/LiveCalls.js'), 'LiveCalls'),
  validateSearch: ({ call }: Record<string, unknown>): LiveSearch =>
    text(call) === undefined ? {} : { call: text(call) as string },
})

export interface EventSearch {
  readonly type?: string
  /** The opened event. */
  readonly id?: string
}
const events = createRoute({
  getParentRoute: () => shell,
  path: '/events',
  component: lazyRouteComponent(() => import('./screens/Events.js'), 'Events'),
  validateSearch: ({ type, id }: Record<string, unknown>): EventSearch => ({
    ...(text(type) === undefined ? {} : { type: text(type) as string }),
    ...(text(id) === undefined ? {} : { id: text(id) as string }),
  }),
})

const staff = createRoute({
  getParentRoute: () => root,
  path: '/staff',
  component: lazyRouteComponent(() => import('./parts/StaffShell.js'), 'StaffShell'),
})
const inStaff = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => staff, path, component })

const tree = root.addChildren([
  signIn,
  signUp,
  start,
  shell.addChildren([
    below(
      '/',
      lazyRouteComponent(() => import('./screens/Overview.js'), 'Overview'),
    ),
    calls,
    below(
      '/calls/$id',
      lazyRouteComponent(() => import('./screens/Call.js'), 'Call'),
    ),
    liveCalls,
    events,
    below(
      '/agents',
      lazyRouteComponent(() => import('./screens/Agents.js'), 'Agents'),
    ),
    below(
      '/agents/$id',
      lazyRouteComponent(() => import('./screens/Agent.js'), 'Agent'),
    ),
    below(
      '/knowledge',
      lazyRouteComponent(() => import('./screens/Knowledge.js'), 'Knowledge'),
    ),
    below(
      '/knowledge/$id',
      lazyRouteComponent(() => import('./screens/KnowledgeBase.js'), 'KnowledgeBase'),
    ),
    below(
      '/numbers',
      lazyRouteComponent(() => import('./screens/Numbers.js'), 'Numbers'),
    ),
    below(
      '/trunks',
      lazyRouteComponent(() => import('./screens/Trunks.js'), 'Trunks'),
    ),
    below(
      '/trunks/$id',
      lazyRouteComponent(() => import('./screens/Trunk.js'), 'Trunk'),
    ),
    below(
      '/destinations',
      lazyRouteComponent(() => import('./screens/Destinations.js'), 'Destinations'),
    ),
    below(
      '/campaigns',
      lazyRouteComponent(() => import('./screens/Campaigns.js'), 'Campaigns'),
    ),
    below(
      '/campaigns/new',
      lazyRouteComponent(() => import('./screens/NewCampaign.js'), 'NewCampaign'),
    ),
    below(
      '/campaigns/$id',
      lazyRouteComponent(() => import('./screens/Campaign.js'), 'Campaign'),
    ),
    below(
      '/callbacks',
      lazyRouteComponent(() => import('./screens/Callbacks.js'), 'Callbacks'),
    ),
    below(
      '/compliance',
      lazyRouteComponent(() => import('./screens/Compliance.js'), 'Compliance'),
    ),
    below(
      '/consents',
      lazyRouteComponent(() => import('./screens/Consents.js'), 'Consents'),
    ),
    below(
      '/dnc',
      lazyRouteComponent(() => import('./screens/Dnc.js'), 'Dnc'),
    ),
    below(
      '/people/$number',
      lazyRouteComponent(() => import('./screens/Person.js'), 'Person'),
    ),
    below(
      '/members',
      lazyRouteComponent(() => import('./screens/Members.js'), 'Members'),
    ),
    below(
      '/keys',
      lazyRouteComponent(() => import('./screens/Keys.js'), 'Keys'),
    ),
    below(
      '/webhooks',
      lazyRouteComponent(() => import('./screens/Webhooks.js'), 'Webhooks'),
    ),
    below(
      '/security',
      lazyRouteComponent(() => import('./screens/Security.js'), 'Security'),
    ),
    wallet,
    settings,
  ]),
  staff.addChildren([
    inStaff(
      '/',
      lazyRouteComponent(() => import('./screens/staff/Organizations.js'), 'Organizations'),
    ),
    inStaff(
      '/organizations/$id',
      lazyRouteComponent(() => import('./screens/staff/Organization.js'), 'Organization'),
    ),
    inStaff(
      '/verifications',
      lazyRouteComponent(() => import('./screens/staff/Organizations.js'), 'Verifications'),
    ),
    inStaff(
      '/payments',
      lazyRouteComponent(() => import('./screens/staff/Decisions.js'), 'PaymentExceptions'),
    ),
    inStaff(
      '/trunks',
      lazyRouteComponent(() => import('./screens/staff/Decisions.js'), 'TrunkRequests'),
    ),
    inStaff(
      '/adjustments',
      lazyRouteComponent(() => import('./screens/staff/Adjustments.js'), 'Adjustments'),
    ),
    inStaff(
      '/security',
      lazyRouteComponent(() => import('./screens/Security.js'), 'Security'),
    ),
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
