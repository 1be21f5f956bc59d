import { AppShell, Burger, Group, NavLink, SegmentedControl, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, Navigate, Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { Fragment, lazy, Suspense, useEffect } from 'react'
import { useTranslations } from 'use-intl'
import { chosenOrganization, SessionProvider, useSession, useSignedIn } from '../session.js'
import { Boundary, Missing, Problem } from './Problem.js'

/** Its menu is the largest part of the frame, and the page does not wait for it. */
const Account = lazy(() => import('./Account.js').then((module) => ({ default: module.Account })))

const MENU = [
  { to: '/$environment', label: 'overview' },
  { to: '/$environment/calls', label: 'calls' },
  { to: '/$environment/agents', label: 'agents' },
  { to: '/$environment/numbers', label: 'numbers' },
  { to: '/$environment/campaigns', label: 'campaigns' },
  { to: '/$environment/compliance', label: 'compliance' },
  { to: '/$environment/wallet', label: 'wallet' },
  { to: '/$environment/events', label: 'events' },
  { to: '/$environment/webhooks', label: 'webhooks' },
  { to: '/$environment/keys', label: 'keys' },
] as const

/** The frame of all signed-in pages. */
export function Shell() {
  const { environment } = useParams({ from: '/$environment' })
  const { data, error } = useSignedIn()
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return null
  if (data === null) return <Navigate to="/sign-in" search={{ next: location.pathname }} />
  const organization = chosenOrganization(data.organizations)
  if ((environment !== 'test' && environment !== 'live') || organization === undefined) return <Missing />
  return (
    <SessionProvider signedIn={data} organization={organization} environment={environment}>
      <Frame />
    </SessionProvider>
  )
}

function Frame() {
  const t = useTranslations()
  const { environment, organization } = useSession()
  const [opened, { toggle, close }] = useDisclosure()
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of narrow screens closes with each new page
  useEffect(close, [pathname])
  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
      className={environment}
    >
      <a className="skip" href={`${pathname}#content`}>
        {t('common.skip')}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t('menu.open')} />
            <Text fw={700} visibleFrom="xs">
              Parley
            </Text>
            <EnvironmentSwitch />
          </Group>
          <Suspense>
            <Account />
          </Suspense>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('menu.label')}>
        {MENU.map(({ to, label }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            // @ts-expect-error Mantine does not know the parameters of the router's link.
            params={{ environment }}
            activeOptions={{ exact: label === 'overview' }}
            label={t(`menu.${label}`)}
            active={label === 'overview' ? /^\/\w+\/?$/.test(pathname) : pathname.includes(`/${label}`)}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <Fragment key={`${organization.id} ${environment}`}>
          <Boundary key={pathname} fallback={<Text role="alert">{t('problem.crash')}</Text>}>
            <Outlet />
          </Boundary>
        </Fragment>
      </AppShell.Main>
    </AppShell>
  )
}

function EnvironmentSwitch() {
  const t = useTranslations('head')
  const { environment } = useSession()
  const navigate = useNavigate()
  return (
    <SegmentedControl
      aria-label={t('environment')}
      value={environment}
      onChange={(value) => void navigate({ to: '/$environment', params: { environment: value } })}
      data={[
        { value: 'test', label: t('test') },
        { value: 'live', label: t('live') },
      ]}
    />
  )
}
