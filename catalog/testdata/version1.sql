-- A database as the first version of the catalog's schema left it.
BEGIN TRANSACTION;
CREATE TABLE codes (code TEXT);
INSERT INTO "codes" VALUES('F');
INSERT INTO "codes" VALUES('M');
CREATE TABLE dpsql_accounts (
	id                  INTEGER PRIMARY KEY,
	epsilon             TEXT NOT NULL,
	delta               TEXT NOT NULL,
	interactive         TEXT NOT NULL,
	release_epsilon     INTEGER NOT NULL,
	release_delta       INTEGER NOT NULL,
	interactive_rho     INTEGER NOT NULL,
	interactive_delta   INTEGER NOT NULL,
	interactive_epsilon INTEGER NOT NULL,
	created_at          TEXT NOT NULL
) STRICT;
INSERT INTO "dpsql_accounts" VALUES(1,'1000','1e-6','0.5',500000000000000000,500000000000,358466743125490944,500000000000,500000000000000000,'2026-11-21T13:22:15Z');
CREATE TABLE dpsql_answers (
	id         INTEGER PRIMARY KEY,
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	sha256     BLOB NOT NULL,
	query      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	via        TEXT NOT NULL,
	mechanism  INTEGER REFERENCES dpsql_mechanisms (id),
	estimate   INTEGER NOT NULL,
	law        TEXT NOT NULL,
	created_at TEXT NOT NULL
) STRICT;
INSERT INTO "dpsql_answers" VALUES(1,1,X'95175EC8CFCC447809D14FC98936849C1FDA8C3EC51A53809A477B82FBC43AB1','age{0..3: 1}','smw-fired','live',1,401,'{"s":200,"updates":60,"max_support":200,"max_weight":1,"queries":1000000,"n_hat":2000,"sensitivity":1,"beta":0.000001,"eps1":"524288/684311","eps2":"2097152/1724353","threshold":53,"bound":53,"alpha":0,"update":"projection","eta":0.3239937593675748,"floor":53,"replay":26}','2026-11-21T13:22:16Z');
INSERT INTO "dpsql_answers" VALUES(2,1,X'B1EC6970620162084B59034DD0D7B62F2D153DADAC3CDF2CEBCB0B5273F1BBE2','age{4..6: 1}','smw-fired','live',1,301,'{"s":200,"updates":60,"max_support":200,"max_weight":1,"queries":1000000,"n_hat":2000,"sensitivity":1,"beta":0.000001,"eps1":"524288/684311","eps2":"2097152/1724353","threshold":53,"bound":53,"alpha":0,"update":"projection","eta":0.3239937593675748,"floor":53,"replay":26}','2026-11-21T13:22:16Z');
INSERT INTO "dpsql_answers" VALUES(3,1,X'98152FF7955A21DFDC4842B9F0D3B96215CD6B2A1630017D87729777E1544FAF','age{7: 1}','direct','direct',NULL,95,'"dgauss(500000000000000/17371155512423)"','2026-11-21T13:22:16Z');
INSERT INTO "dpsql_answers" VALUES(4,1,X'4E451132BB82ED6D05491AB8A5A67F199186FE1AC5C5D23AF55D89FA73B34990','age{50: 1}','smw-unfired','live',1,14,'{"s":200,"updates":60,"max_support":200,"max_weight":1,"queries":1000000,"n_hat":2000,"sensitivity":1,"beta":0.000001,"eps1":"524288/684311","eps2":"2097152/1724353","threshold":53,"bound":53,"alpha":0,"update":"projection","eta":0.3239937593675748,"floor":53,"replay":26}','2026-11-21T13:22:16Z');
CREATE TABLE dpsql_bases (
	name    TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id)
) STRICT;
INSERT INTO "dpsql_bases" VALUES('raw_people',1);
CREATE TABLE dpsql_columns (
	table_id INTEGER NOT NULL REFERENCES dpsql_tables (id),
	position INTEGER NOT NULL,
	name     TEXT NOT NULL COLLATE NOCASE,
	type     TEXT NOT NULL,
	domain   TEXT NOT NULL,
	PRIMARY KEY (table_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "dpsql_columns" VALUES(1,0,'sex','TEXT','{"values":["F","M"]}');
INSERT INTO "dpsql_columns" VALUES(1,1,'age','INTEGER','{"range":[0,99]}');
INSERT INTO "dpsql_columns" VALUES(2,0,'age','INTEGER','{"range":[0,99]}');
CREATE TABLE dpsql_history (
	mechanism INTEGER NOT NULL REFERENCES dpsql_mechanisms (id),
	seq       INTEGER NOT NULL,
	query     TEXT NOT NULL,
	noisy     INTEGER NOT NULL,
	PRIMARY KEY (mechanism, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "dpsql_history" VALUES(1,1,'age{0..3: 1}',401);
INSERT INTO "dpsql_history" VALUES(1,2,'age{4..6: 1}',301);
CREATE TABLE dpsql_ledger (
	seq     INTEGER PRIMARY KEY,
	at      TEXT NOT NULL,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id),
	kind    TEXT NOT NULL,
	action  TEXT NOT NULL,
	object  TEXT NOT NULL,
	epsilon INTEGER NOT NULL,
	delta   INTEGER NOT NULL,
	rho     INTEGER NOT NULL,
	hash    BLOB NOT NULL
) STRICT;
INSERT INTO "dpsql_ledger" VALUES(1,'2026-11-21T13:22:15Z',1,'releases','budget declared: epsilon = 1000, delta = 1e-6, interactive = 0.5; releases ε 500, δ 5e-7; interactive ρ 358.466743125490944 (ε 500 at δ 5e-7)','raw_people',0,0,0,X'CDFDDD07A8BC8D46307B92ED79F5D6F0125E66D95C2520893125D2656FD8F186');
INSERT INTO "dpsql_ledger" VALUES(2,'2026-11-21T13:22:15Z',1,'releases','create release','cells',1000000000000000,0,0,X'8DCD4217DDB46B4362C329843AE73B3737F9BC89CBA6DE9F27D43C548575A0EA');
INSERT INTO "dpsql_ledger" VALUES(3,'2026-11-21T13:22:16Z',1,'releases','create release','old',1000000000000000,0,0,X'0B6AC7F81873D7F54262A16E4B71A77B5751AB3248734CE9AC2F53D244233BFA');
INSERT INTO "dpsql_ledger" VALUES(4,'2026-11-21T13:22:16Z',1,'interactive','number of rows','people',0,0,1190823141421404,X'22CA343A987A0AA34EC5C8B0454645E3C42111D176A0FF9993BA6B104CF9EB43');
INSERT INTO "dpsql_ledger" VALUES(5,'2026-11-21T13:22:16Z',1,'interactive','reserve mechanism','live',0,0,117891491000719076,X'7D6EDF09712239E55166F005D0DB414A063D990BE0773D846A9E377DF94A0895');
INSERT INTO "dpsql_ledger" VALUES(6,'2026-11-21T13:22:16Z',1,'interactive','run 1 of 60','live',0,0,0,X'528A0050DCA7D3EF11CD3BDAD5DD502B66101DB0A4ED0C9E438A39712FC70DC1');
INSERT INTO "dpsql_ledger" VALUES(7,'2026-11-21T13:22:16Z',1,'interactive','run 2 of 60','live',0,0,0,X'C7A222471E93E33A4E1FA9DAEF410ED14CD67819BE58638430506151C83B4907');
INSERT INTO "dpsql_ledger" VALUES(8,'2026-11-21T13:22:16Z',1,'interactive','run 3 of 60','live',0,0,0,X'AC4EB79D0E68C45AF40174667D9476076C4009317F04AA1ADA8E31985D46520F');
INSERT INTO "dpsql_ledger" VALUES(9,'2026-11-21T13:22:16Z',1,'interactive','direct answer','people',0,0,17371155512423,X'E6C19E5DEA44A0AC4A49095B3EDB86AC82BEAF45C67856B36F803F5F0DA4E9A8');
CREATE TABLE dpsql_mechanisms (
	id           INTEGER PRIMARY KEY,
	name         TEXT NOT NULL COLLATE NOCASE,
	table_id     INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns      TEXT NOT NULL,
	params       TEXT NOT NULL,
	epsilon      INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	run_rho      INTEGER NOT NULL,
	updates      INTEGER NOT NULL,
	runs_started INTEGER NOT NULL,
	runs_ended   INTEGER NOT NULL,
	comparisons  INTEGER NOT NULL,
	run          INTEGER,
	tau          INTEGER,
	leased       INTEGER NOT NULL,
	state_size   INTEGER NOT NULL,
	state_sha256 BLOB NOT NULL,
	created_at   TEXT NOT NULL,
	dropped_at   TEXT
) STRICT;
INSERT INTO "dpsql_mechanisms" VALUES(1,'live',1,'null','{"s":200,"updates":60,"max_support":200,"max_weight":1,"queries":1000000,"n_hat":2000,"sensitivity":1,"beta":0.000001,"eps1":"524288/684311","eps2":"2097152/1724353","threshold":53,"bound":53,"alpha":0,"update":"projection","eta":0.3239937593675748,"floor":53,"replay":26}',200000000000000000,117891491000719076,1964858183345317,60,3,2,3,3,1,0,16,X'1737184CF37BDDEC0C0796452676A52C38935984BB72E266E7E5BD5C30905A57','2026-11-21T13:22:16Z',NULL);
CREATE TABLE dpsql_payloads (
	owner    TEXT NOT NULL,
	owner_id INTEGER NOT NULL,
	part     INTEGER NOT NULL,
	data     BLOB NOT NULL,
	PRIMARY KEY (owner, owner_id, part)
) STRICT;
INSERT INTO "dpsql_payloads" VALUES('release',1,0,X'647073716C70726A010003005041524D33000000000000000101C800000000000000000058EC3B9F779146010B02425B4475A8417CCE0EF4E59E20511E3E4C5FC556C959646C61702831294D415452100000000000000005C546FB672A943214092AAF57955DE643454C4CC90000000000000001006501640064006500630164006400640264FE6200020000FFFFFF00FF00FE00FE02010001000001000100000000FF000000FEFEFF000100010100FD0000000100FD00030001FFFC00000100010100FF03010201FCFE0100FF0300FF0000010000FD02FF630365036301630064006300660061FF640062000000FFFF010000FF000002010001FF000004000100000200FF0000010000000000FF000000FF00FF00FDFF010000FC0203FF000001FF0100010100FE00000000000000FE01000100010000FF00FF00FF6C15A23ED7735EEA793CF71A4E74DDC03152930836EE9A3E7E4CE83098FC8ADE');
INSERT INTO "dpsql_payloads" VALUES('mechanism',1,0,X'083173AA0761DA55D026C74F06641A95');
CREATE TABLE dpsql_public (
	name        TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	declared_at TEXT NOT NULL
) STRICT;
INSERT INTO "dpsql_public" VALUES('codes','2026-11-21T13:22:15Z');
CREATE TABLE dpsql_releases (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL COLLATE NOCASE,
	table_id    INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns     TEXT NOT NULL,
	method      TEXT NOT NULL,
	params      TEXT NOT NULL,
	epsilon     INTEGER NOT NULL,
	delta       INTEGER NOT NULL,
	max_support INTEGER NOT NULL,
	size        INTEGER NOT NULL,
	sha256      BLOB NOT NULL,
	created_at  TEXT NOT NULL,
	dropped_at  TEXT
) STRICT;
INSERT INTO "dpsql_releases" VALUES(1,'cells',1,'null','projection','{"transform":"identity","rows":200,"law":"dlap(1)","sampler":"table"}',1000000000000000,0,65536,348,X'F9F8C0A67BF1B2CDB6BD6E9FF9F6D5D4BFF1A2CE83EC48708C214535D0331A45','2026-11-21T13:22:15Z',NULL);
INSERT INTO "dpsql_releases" VALUES(2,'old',1,'[0]','projection','{"transform":"identity","rows":2,"law":"dlap(1)","sampler":"table"}',1000000000000000,0,65536,166,X'5F1D47DC2C30EC7BE0055D8274B54C1884D2DD8A69DA0F1764DB91A7BBC1A6B7','2026-11-21T13:22:16Z','2026-11-21T13:22:16Z');
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO "dpsql_schema" VALUES(1);
CREATE TABLE dpsql_tables (
	id            INTEGER PRIMARY KEY,
	name          TEXT NOT NULL COLLATE NOCASE,
	source        TEXT NOT NULL,
	account       INTEGER REFERENCES dpsql_accounts (id),
	unit          TEXT NOT NULL,
	max_rows      INTEGER NOT NULL,
	source_schema TEXT NOT NULL,
	key           BLOB NOT NULL,
	nhat          INTEGER,
	nhat_epsilon  INTEGER,
	nhat_rho      INTEGER,
	nhat_law      TEXT,
	created_at    TEXT NOT NULL,
	dropped_at    TEXT
) STRICT;
INSERT INTO "dpsql_tables" VALUES(1,'people','raw_people',1,'',1,'CREATE TABLE raw_people (sex TEXT, age INTEGER);
',X'',2000,0,1190823141421404,'dgauss(125000000000000/297705785355351)','2026-11-21T13:22:15Z',NULL);
INSERT INTO "dpsql_tables" VALUES(2,'gone','raw_people',1,'',1,'CREATE TABLE raw_people (sex TEXT, age INTEGER);
',X'',NULL,NULL,NULL,NULL,'2026-11-21T13:22:15Z','2026-11-21T13:22:15Z');
CREATE TABLE raw_people (sex TEXT, age INTEGER);
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
	INSERT INTO raw_people SELECT CASE WHEN i % 2 THEN 'F' ELSE 'M' END, i % 20 FROM n;
CREATE UNIQUE INDEX dpsql_tables_live ON dpsql_tables (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_releases_live ON dpsql_releases (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_mechanisms_live ON dpsql_mechanisms (name) WHERE dropped_at IS NULL;
CREATE INDEX dpsql_answers_query ON dpsql_answers (table_id, sha256);
CREATE TRIGGER dpsql_ledger_update BEFORE UPDATE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_delete BEFORE DELETE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_insert BEFORE INSERT ON dpsql_ledger
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_history_update BEFORE UPDATE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_delete BEFORE DELETE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_insert BEFORE INSERT ON dpsql_history
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_history WHERE mechanism = NEW.mechanism)
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
COMMIT;
