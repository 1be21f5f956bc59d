import { Button, Card, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { AddFactor, RecoveryCodes } from '../parts/AddFactor.js'
import { Confirm } from '../parts/Dialog.js'
import { List, useList } from '../parts/List.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { useProvenAction } from '../parts/Proof.js'
import { Rows } from '../parts/Rows.js'
import { useKey, useSession } from '../session.js'

type Factors = Result<'readFactors'>
type Factor = Factors['factors'][number]

/** The second factors of the user, their recovery codes, and what happened to the account. */
export function Security() {
  const t = useTranslations('security')
  const { api } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const factors = useQuery({ queryKey: key('factors'), queryFn: () => api.readFactors() })
  const reread = (): void => {
    void queries.invalidateQueries({ queryKey: ['session'] })
    void queries.invalidateQueries({ queryKey: key() })
  }
  return (
    <Page title={t('title')}>
      <Text>{t('intro')}</Text>
      <Loaded query={factors} height={300}>
        {(data) => (
          <>
            <FactorList factors={data.factors} removed={reread} />
            <AddFactor origin={data.passkeyOrigin} done={reread} />
            {data.factors.length > 0 && <Recovery left={data.recoveryCodesLeft} renewed={reread} />}
          </>
        )}
      </Loaded>
      <History />
    </Page>
  )
}

function FactorList(props: { readonly factors: readonly Factor[]; readonly removed: () => void }) {
  const t = useTranslations('security')
  const { api } = useSession()
  const { time } = useFormat()
  const [chosen, setChosen] = useState<Factor | null>(null)
  const remove = useProvenAction(
    (id: string) => api.deleteFactor({ id }),
    () => {
      setChosen(null)
      props.removed()
    },
  )
  if (props.factors.length === 0) return <Empty text={t('empty')} />
  return (
    <>
      <Rows
        label={t('title')}
        rows={props.factors}
        idOf={({ id }) => id}
        columns={[
          { title: t('name'), cell: ({ name }) => name },
          { title: t('kind'), cell: ({ kind }) => t(kind === 'passkey' ? 'passkey' : 'app') },
          { title: t('added'), cell: ({ createdAt }) => time(createdAt) },
          { title: t('used'), cell: ({ lastUsedAt }) => (lastUsedAt === null ? '–' : time(lastUsedAt)) },
          {
            title: '',
            align: 'right',
            cell: (factor) => (
              <Button
                size="xs"
                variant="default"
                aria-label={t('removeNamed', { name: factor.name })}
                onClick={() => {
                  remove.action.reset()
                  setChosen(factor)
                }}
              >
                {t('remove')}
              </Button>
            ),
          },
        ]}
      />
      {chosen !== null && remove.asking === false && (
        <Confirm
          title={t('remove')}
          label={t('remove')}
          text={t('removeText', { name: chosen.name })}
          action={{ ...remove.action, error: remove.error, mutate: () => remove.action.mutate(chosen.id) }}
          close={() => setChosen(null)}
        />
      )}
      {remove.asking}
    </>
  )
}

function Recovery(props: { readonly left: number; readonly renewed: () => void }) {
  const t = useTranslations('security')
  const { api } = useSession()
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const renew = useProvenAction(
    (_: true) => api.createRecoveryCodes(),
    ({ recoveryCodes }) => setCodes(recoveryCodes),
  )
  return (
    <Card withBorder>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {t('recoveryCodes')}
        </Title>
        <Text size="sm">{t('left', { count: props.left })}</Text>
        {renew.error !== null && <Problem error={renew.error} />}
        <Group>
          <Button
            variant="default"
            loading={renew.action.isPending}
            onClick={() => renew.action.mutate(true)}
          >
            {t('renew')}
          </Button>
        </Group>
      </Stack>
      {renew.asking}
      {codes !== null && (
        <RecoveryCodes
          codes={codes}
          close={() => {
            setCodes(null)
            props.renewed()
          }}
        />
      )}
    </Card>
  )
}

function History() {
  const t = useTranslations('security')
  const tActions = useTranslations('security.actions')
  const { api } = useSession()
  const { time } = useFormat()
  const events = useList(['security-events'], (cursor) => api.listSecurityEvents({ query: { cursor } }))
  const said = (action: string): string => {
    const known = action.replace('.', '_') as Parameters<typeof tActions>[0]
    return tActions.has(known) ? tActions(known) : action.replaceAll(/[._]/g, ' ')
  }
  return (
    <>
      <Title order={2} size="h4">
        {t('history')}
      </Title>
      <List query={events} empty={t('noHistory')}>
        {(items) => (
          <Rows
            label={t('history')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('time'), cell: ({ createdAt }) => time(createdAt) },
              {
                title: t('what'),
                cell: ({ action, actor }) => (
                  <>
                    {said(action)}
                    {actor === 'system' && <Text size="xs">{t('byOperator')}</Text>}
                  </>
                ),
              },
              {
                title: t('kind'),
                cell: ({ kind, name }) =>
                  name ??
                  (kind === 'recovery_code'
                    ? t('recoveryCode')
                    : kind === null
                      ? '–'
                      : t(kind === 'passkey' ? 'passkey' : 'app')),
              },
            ]}
          />
        )}
      </List>
    </>
  )
}
