import { Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State, useReason, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

/** Shows the data of the environment about one number: consents, refusals, checks and sealed records. */
export function Person() {
  const t = useTranslations('history')
  const tConsents = useTranslations('consents')
  const tDnc = useTranslations('dnc')
  const tChecks = useTranslations('compliance')
  const { number } = useParams({ from: '/$environment/people/$number' })
  const { api, environment } = useSession()
  const key = useKey()
  const { time, day } = useFormat()
  const word = useWord()
  const reason = useReason()
  const person = useQuery({
    queryKey: key('person', number),
    queryFn: () => api.readPersonEvidence({ query: { e164: number } }),
  })
  return (
    <Page
      title={t('title', { number })}
      actions={
        <Link to="/$environment/consents" params={{ environment }}>
          {tConsents('title')}
        </Link>
      }
    >
      <Loaded query={person} height={300}>
        {({ consents, suppression, checks, evidence }) => {
          if ([consents, suppression, checks, evidence].every((list) => list.length === 0)) {
            return <Empty text={t('nothing')} />
          }
          return (
            <>
              <Part title={t('consents')} shown={consents.length > 0}>
                <Rows
                  label={t('consents')}
                  rows={consents}
                  idOf={({ id }) => id}
                  columns={[
                    { title: tConsents('captured'), cell: ({ capturedAt }) => day(capturedAt) },
                    { title: tConsents('purpose'), cell: ({ purpose }) => word(purpose) },
                    { title: tConsents('scope'), cell: ({ scope }) => scope },
                    { title: tConsents('source'), cell: ({ source }) => source },
                    {
                      title: tConsents('state'),
                      cell: ({ active }) => <State value={active ? 'active' : 'expired'} />,
                    },
                  ]}
                />
              </Part>
              <Part title={t('suppression')} shown={suppression.length > 0}>
                <Rows
                  label={t('suppression')}
                  rows={suppression}
                  idOf={({ id }) => id}
                  columns={[
                    { title: tDnc('added'), cell: ({ createdAt }) => day(createdAt) },
                    { title: tDnc('source'), cell: ({ source }) => word(source) },
                    { title: tDnc('reason'), cell: ({ reason }) => reason },
                    {
                      title: tConsents('state'),
                      cell: ({ active }) => <State value={active ? 'active' : 'expired'} />,
                    },
                  ]}
                />
              </Part>
              <Part title={t('checks')} shown={checks.length > 0}>
                <Rows
                  label={t('checks')}
                  rows={checks}
                  idOf={({ id }) => id}
                  columns={[
                    { title: tDnc('added'), cell: ({ checkedAt }) => time(checkedAt) },
                    { title: tChecks('check'), cell: ({ type }) => word(type) },
                    { title: tChecks('outcome'), cell: ({ outcome }) => <State value={outcome} /> },
                    { title: tChecks('why'), cell: (check) => reason(check) },
                  ]}
                />
              </Part>
              <Part title={t('evidence')} shown={evidence.length > 0}>
                {evidence.map(({ id, seq, sealedAt, callId }) => (
                  <Text size="sm" key={id}>
                    {callId === null ? (
                      t('sealed', { seq, time: time(sealedAt) })
                    ) : (
                      <Link to="/$environment/calls/$id" params={{ environment, id: callId }}>
                        {t('sealed', { seq, time: time(sealedAt) })}
                      </Link>
                    )}
                  </Text>
                ))}
              </Part>
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

function Part(props: {
  readonly title: string
  readonly shown: boolean
  readonly children: React.ReactNode
}) {
  if (!props.shown) return null
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        {props.title}
      </Title>
      {props.children}
    </section>
  )
}
