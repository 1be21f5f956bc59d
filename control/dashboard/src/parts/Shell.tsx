import { Link, Navigate, Outlet, useLocation, useParams } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import { chosenOrganization, SessionProvider, useEnrolment, useSession, useSignedIn } from '../session.js'
import { Boundary, Missing, Problem } from './Problem.js'

/** The page does not wait for their code. */
const Enrolment = lazy(() => import('./Enrolment.js').then((module) => ({ default: module.Enrolment })))
const Account = lazy(() => import('./Account.js').then((module) => ({ default: module.Account })))
const Live = lazy(() => import('./Live.js').then((module) => ({ default: module.Live })))
const Shortcuts = lazy(() => import('./Shortcuts.js').then((module) => ({ default: module.Shortcuts })))
const Palette = lazy(() => import('./Palette.js').then((module) => ({ default: module.Palette })))

/** Entries by task. A path is below the environment. */
export const MENU = [
  { group: 'watch', entries: ['overview', 'live-calls', 'calls', 'events'] },
  { group: 'build', entries: ['agents', 'knowledge', 'numbers', 'trunks', 'destinations'] },
  { group: 'reach', entries: ['campaigns', 'callbacks'] },
  { group: 'rules', entries: ['compliance', 'consents', 'dnc'] },
  { group: 'manage', entries: ['wallet', 'members', 'settings', 'keys', 'webhooks'] },
] as const

/** The address of a menu entry below `/$environment`. */
export const pathOf = (entry: string): string => (entry === 'overview' ? '' : entry)

/** The frame of all pages of an organization. */
export function Shell() {
  const { environment } = useParams({ from: '/$environment' })
  const { data, error, refetch } = useSignedIn()
  const organization = chosenOrganization(data?.organizations ?? [])
  const enrolment = useEnrolment(data, organization?.requireSecondFactor === true)
  if (data === undefined && error !== null)
    return <SessionProblem error={error} retry={() => void refetch()} />
  if (data === undefined) return null
  if (data === null) return <Navigate to="/sign-in" search={{ next: location.pathname }} />
  if (organization === undefined && data.user.staff) return <Navigate to="/staff" />
  if ((environment !== 'test' && environment !== 'live') || organization === undefined) return <Missing />
  if (enrolment.isOpen) {
    return (
      <SessionProvider signedIn={data} organization={organization} environment={environment}>
        <Suspense>
          <Enrolment done={enrolment.done} />
        </Suspense>
      </SessionProvider>
    )
  }
  return (
    <SessionProvider signedIn={data} organization={organization} environment={environment}>
      <Frame
        key={`${organization.id} ${environment}`}
        colour={environment}
        menu={<Menu />}
        head={<Environments />}
      >
        <Suspense>
          <Live />
          <Shortcuts />
        </Suspense>
        <RoleNote />
        <Outlet />
      </Frame>
    </SessionProvider>
  )
}

/** Stands for the whole page when the session could not be read. */
export function SessionProblem(props: { readonly error: Error; readonly retry: () => void }) {
  return (
    <main className="plain">
      <h1>Parley</h1>
      <Problem {...props} />
    </main>
  )
}

/** Says to those who only look why they see fewer buttons than others. */
function RoleNote() {
  const t = useTranslations('roleNote')
  const { canWrite, canPay } = useSession()
  if (canWrite) return null
  return <p className="role-note">{canPay ? t('billing') : t('viewer')}</p>
}

/** Header, menu and content. The colour of the frame tells the environment; a word tells it without colour. */
export function Frame(props: {
  readonly colour: 'test' | 'live' | 'staff'
  readonly menu: ReactNode
  readonly head: ReactNode
  readonly children: ReactNode
}) {
  const t = useTranslations()
  const { pathname } = useLocation()
  const [opened, setOpened] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of narrow screens closes with each new page
  useEffect(() => setOpened(false), [pathname])
  return (
    <div className={`frame ${props.colour}`}>
      <a className="skip" href={`${location.pathname}#content`}>
        {t('common.skip')}
      </a>
      <header className="head">
        <button
          type="button"
          className="burger"
          aria-expanded={opened}
          aria-controls="menu"
          aria-label={t('menu.open')}
          onClick={() => setOpened(!opened)}
        >
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
            <path d={opened ? 'M4 4l12 12M16 4L4 16' : 'M2 5h16M2 10h16M2 15h16'} />
          </svg>
        </button>
        <span className="brand">Parley</span>
        {props.head}
        <span className="gap" />
        <Suspense>
          {props.colour !== 'staff' && <Palette />}
          <Account />
        </Suspense>
      </header>
      <nav id="menu" className={opened ? 'menu opened' : 'menu'} aria-label={t('menu.label')}>
        {props.menu}
      </nav>
      <main id="content">
        <Boundary key={pathname} fallback={<p role="alert">{t('problem.crash')}</p>}>
          {props.children}
        </Boundary>
      </main>
    </div>
  )
}

function Menu() {
  const t = useTranslations('menu')
  const { environment, user } = useSession()
  return (
    <>
      {MENU.map(({ group, entries }) => (
        <section key={group} aria-labelledby={`menu-${group}`}>
          <h2 id={`menu-${group}`}>{t(`groups.${group}`)}</h2>
          {entries.map((entry) => (
            <Link
              key={entry}
              to={`/$environment/${pathOf(entry)}` as '/$environment'}
              params={{ environment }}
              activeOptions={{ exact: entry === 'overview', includeSearch: false }}
            >
              {t(entry)}
            </Link>
          ))}
        </section>
      ))}
      {user.staff && <Link to="/staff">{t('staff')}</Link>}
    </>
  )
}

function Environments() {
  const t = useTranslations('head')
  const { environment } = useSession()
  return (
    <nav className="environments" aria-label={t('environment')}>
      {(['test', 'live'] as const).map((name) => (
        <Link
          key={name}
          to="/$environment"
          params={{ environment: name }}
          className={name}
          // The links compare their whole address; the environment is its first part.
          activeProps={{}}
          aria-current={name === environment ? 'true' : undefined}
        >
          {t(name)}
        </Link>
      ))}
    </nav>
  )
}
