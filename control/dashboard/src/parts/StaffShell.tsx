import { Link, Navigate, Outlet } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { SessionProvider, useEnrolment, useSignedIn } from '../session.js'
import { Enrolment } from './Enrolment.js'
import { Frame, SessionProblem } from './Shell.js'
import { Word } from './Word.js'

const MENU = [
  { to: '/staff', label: 'organizations' },
  { to: '/staff/verifications', label: 'verifications' },
  { to: '/staff/payments', label: 'payments' },
  { to: '/staff/trunks', label: 'trunks' },
  { to: '/staff/adjustments', label: 'adjustments' },
] as const

/** The frame of the staff area. It has a colour of its own. */
export function StaffShell() {
  const t = useTranslations('staff')
  const { data, error, refetch } = useSignedIn()
  const enrolment = useEnrolment(data, data?.user.staff === true)
  if (data === undefined && error !== null)
    return <SessionProblem error={error} retry={() => void refetch()} />
  if (data === undefined) return null
  if (data === null) return <Navigate to="/sign-in" search={{ next: location.pathname }} />
  if (!data.user.staff) {
    return (
      <main className="plain">
        <p role="alert">{t('notStaff')}</p>
        <Link to="/">{t('own')}</Link>
      </main>
    )
  }
  if (enrolment.isOpen) {
    return (
      <SessionProvider signedIn={data} organization={null} environment="live">
        <Enrolment done={enrolment.done} />
      </SessionProvider>
    )
  }
  const menu = (
    <>
      {MENU.map(({ to, label }) => (
        <Link key={to} to={to} activeOptions={{ exact: true }}>
          {t(label)}
        </Link>
      ))}
      {data.organizations.length > 0 && <Link to="/">{t('own')}</Link>}
    </>
  )
  return (
    <SessionProvider signedIn={data} organization={null} environment="live">
      <Frame colour="staff" menu={menu} head={<Word color="grape">{t('title')}</Word>}>
        <Outlet />
      </Frame>
    </SessionProvider>
  )
}
