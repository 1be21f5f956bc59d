import { Button, Card, Group, SimpleGrid, Stack, Text, Textarea, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Confirm, Dialog, FormDialog, KeptDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Facts, Rows } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'
import { Credentials, linesOf, useProbe } from './Trunks.js'

type TrunkView = Result<'readSipTrunk'>

/** One SIP trunk: its settings, its test, its password and its numbers. */
export function Trunk() {
  const t = useTranslations('trunks')
  const { id } = useParams({ from: '/$environment/trunks/$id' })
  const { api, environment } = useSession()
  const key = useKey()
  const trunk = useQuery({ queryKey: key('trunk', id), queryFn: () => api.readSipTrunk({ id }) })
  return (
    <Page
      title={trunk.data?.name ?? t('trunk')}
      actions={
        <Link to="/$environment/trunks" params={{ environment }}>
          {t('back')}
        </Link>
      }
    >
      <Loaded query={trunk} height={400}>
        {(data) => (
          <>
            <Actions trunk={data} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Settings trunk={data} />
              <Numbers trunk={data} />
            </SimpleGrid>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Actions({ trunk }: { readonly trunk: TrunkView }) {
  const t = useTranslations('trunks')
  const { api, canManage, environment } = useSession()
  const navigate = useNavigate()
  const probed = useProbe()
  const [asking, setAsking] = useState<'rotate' | 'remove' | null>(null)
  const { id, name } = trunk
  const test = useAction((method: 'options' | 'register') => api.testSipTrunk({ id, body: { method } }))
  const rotate = useAction(() => api.rotateSipTrunkCredentials({ id }))
  const remove = useAction(
    () => api.deleteSipTrunk({ id }),
    () => void navigate({ to: '/$environment/trunks', params: { environment } }),
  )
  const close = (): void => {
    setAsking(null)
    rotate.reset()
  }
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <State value={trunk.status} />
        {trunk.disabledReason !== null && <Text size="sm">{trunk.disabledReason}</Text>}
        <Text size="sm" role="status">
          {probed(trunk.lastProbe)}
        </Text>
      </Group>
      {test.error !== null && <Problem error={test.error} />}
      {canManage && (
        <Group gap="sm">
          <Button variant="default" onClick={() => test.mutate('options')} loading={test.isPending}>
            {t('testOptions')}
          </Button>
          {trunk.outboundAuthUsername !== null && (
            <Button variant="default" onClick={() => test.mutate('register')} loading={test.isPending}>
              {t('testRegister')}
            </Button>
          )}
          <Button variant="default" onClick={() => setAsking('rotate')}>
            {t('rotate')}
          </Button>
          <Button variant="default" onClick={() => setAsking('remove')}>
            {t('remove')}
          </Button>
        </Group>
      )}
      {asking === 'rotate' && rotate.data === undefined && (
        <Confirm
          title={t('rotate')}
          text={t('rotateText')}
          label={t('rotate')}
          action={rotate}
          close={close}
        />
      )}
      {asking === 'rotate' && rotate.data !== undefined && (
        <KeptDialog title={t('rotate')} close={close} size="lg">
          <Credentials {...rotate.data.connection} />
        </KeptDialog>
      )}
      {asking === 'remove' && (
        <Confirm
          title={t('remove')}
          text={t('removeText', { name })}
          label={t('remove')}
          action={remove}
          close={close}
        />
      )}
    </Stack>
  )
}

const placeText = ({ address, port, transport }: TrunkView['contacts'][number]) =>
  `${address}:${port} ${transport}`

function Settings({ trunk }: { readonly trunk: TrunkView }) {
  const t = useTranslations('trunks')
  const word = useWord()
  const { time } = useFormat()
  const { connection, outboundHost } = trunk
  return (
    <Card withBorder>
      <Title order={2} size="h4">
        {t('connection')}
      </Title>
      <Facts
        facts={[
          [t('server'), `${connection.host}:${connection.port} ${connection.transport}`],
          [t('realm'), trunk.realm],
          [t('auth'), word(trunk.inboundAuth)],
          ...(trunk.ipAcl.length === 0 ? [] : [[t('acl'), trunk.ipAcl.join(', ')] as const]),
          ...(trunk.ipAclPending.length === 0
            ? []
            : [[t('aclPending'), trunk.ipAclPending.join(', ')] as const]),
          [t('concurrent'), trunk.maxConcurrent],
          [
            t('host'),
            outboundHost === null ? '–' : `${outboundHost}:${trunk.outboundPort} ${trunk.outboundTransport}`,
          ],
          ...(trunk.contacts.length === 0
            ? []
            : [[t('contacts'), trunk.contacts.map(placeText).join(', ')] as const]),
          [t('inbound'), time(trunk.lastInboundAt)],
          [t('outbound'), time(trunk.lastOutboundAt)],
        ]}
      />
    </Card>
  )
}

function Numbers({ trunk: { id } }: { readonly trunk: TrunkView }) {
  const t = useTranslations('trunks')
  const { api, canManage } = useSession()
  const [adding, setAdding] = useState(false)
  const numbers = useList(['trunk', id, 'numbers'], (cursor) =>
    api.listSipTrunkNumbers({ id, query: { cursor } }),
  )
  const remove = useAction((numberId: string) => api.removeSipTrunkNumber({ id, numberId }))
  return (
    <Card withBorder>
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4">
            {t('numbers')}
          </Title>
          {canManage && (
            <Button size="xs" onClick={() => setAdding(true)}>
              {t('add')}
            </Button>
          )}
        </Group>
        {remove.error !== null && <Problem error={remove.error} />}
        <List query={numbers} empty={t('noNumbers')}>
          {(items) => (
            <Rows
              label={t('numbers')}
              rows={items}
              idOf={(number) => number.id}
              columns={[
                { title: t('numbers'), cell: ({ e164, label }) => `${e164} ${label}` },
                {
                  title: '',
                  align: 'right',
                  cell: (number) =>
                    canManage && (
                      <Button
                        size="xs"
                        variant="default"
                        aria-label={`${t('take')} ${number.e164}`}
                        onClick={() => remove.mutate(number.id)}
                      >
                        {t('take')}
                      </Button>
                    ),
                },
              ]}
            />
          )}
        </List>
      </Stack>
      {adding && <AddNumbers id={id} close={() => setAdding(false)} />}
    </Card>
  )
}

function AddNumbers({ id, close }: { readonly id: string; readonly close: () => void }) {
  const t = useTranslations('trunks')
  const { api } = useSession()
  const form = useFields({ numbers: '' })
  const add = useAction(() =>
    api.importSipTrunkNumbers({ id, body: { e164s: linesOf(form.values.numbers) } }),
  )
  if (add.data !== undefined) {
    const { imported, rejected } = add.data
    return (
      <Dialog title={t('add')} close={close}>
        <Text role="status">{t('added', { count: imported.length })}</Text>
        {rejected.map(({ index, e164, message }) => (
          <Text size="sm" key={index}>
            {e164}: {message}
          </Text>
        ))}
      </Dialog>
    )
  }
  return (
    <FormDialog title={t('add')} close={close} action={add} submit={t('add')}>
      <Textarea
        label={t('numbers')}
        description={t('addHint')}
        required
        autosize
        minRows={3}
        data-autofocus
        {...form.text('numbers')}
      />
    </FormDialog>
  )
}
