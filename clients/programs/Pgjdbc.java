// What Java programs do over pgjdbc: metadata, prepared statements, pieces of a result, transactions.
import java.sql.*;
import java.util.*;

public class Pgjdbc {
    static void show(String name, Object value) {
        System.out.println(name + ": " + value);
    }

    static String env(String name) {
        return System.getenv(name);
    }

    static String rows(ResultSet r, String... columns) throws SQLException {
        List<String> out = new ArrayList<>();
        while (r.next()) {
            StringJoiner row = new StringJoiner(" ");
            for (String c : columns) {
                row.add(String.valueOf(r.getObject(c)));
            }
            out.add(row.toString());
        }
        return String.join(", ", out);
    }

    static String fails(Connection c, String statement) {
        try (Statement s = c.createStatement()) {
            s.execute(statement);
            return "no error";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:postgresql://" + env("PGHOST") + ":" + env("PGPORT") + "/" + env("PGDATABASE");
        for (String mode : new String[] {"extended", "simple"}) {
            Properties p = new Properties();
            p.setProperty("user", env("PGUSER"));
            p.setProperty("password", env("PGPASSWORD"));
            p.setProperty("sslmode", env("PGSSLMODE"));
            p.setProperty("preferQueryMode", mode);
            p.setProperty("ApplicationName", "pgjdbc");
            try (Connection c = DriverManager.getConnection(url, p)) {
                show("mode", mode);
                metadata(c);
                ask(c);
            } catch (SQLException e) {
                show("died", e.getSQLState() + " " + e.getMessage());
            }
        }
    }

    static void metadata(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        show("product", m.getDatabaseProductName());
        show("catalog", c.getCatalog());
        show("schema", c.getSchema());
        show("schemas", rows(m.getSchemas(), "TABLE_SCHEM"));
        show("catalogs", rows(m.getCatalogs(), "TABLE_CAT"));
        show("table types", rows(m.getTableTypes(), "TABLE_TYPE"));
        show("tables", rows(m.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE"));
        show("all tables", rows(m.getTables(null, "public", "%", null), "TABLE_NAME", "TABLE_TYPE"));
        show("columns", rows(m.getColumns(null, "public", "visits", "%"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE"));
        show("keys", rows(m.getPrimaryKeys(null, "public", "wards"), "COLUMN_NAME"));
        show("indexes", rows(m.getIndexInfo(null, "public", "wards", false, true), "INDEX_NAME"));
        show("imported", rows(m.getImportedKeys(null, "public", "visits"), "FKCOLUMN_NAME"));
        show("exported", rows(m.getExportedKeys(null, "public", "wards"), "FKCOLUMN_NAME"));
        show("best row", rows(m.getBestRowIdentifier(null, "public", "wards", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"));
        show("procedures", rows(m.getProcedures(null, "public", "%"), "PROCEDURE_NAME"));
        show("functions", rows(m.getFunctions(null, "public", "%"), "FUNCTION_NAME"));
        show("types of users", rows(m.getUDTs(null, "public", "%", null), "TYPE_NAME"));
        int n = 0;
        for (ResultSet r = m.getTypeInfo(); r.next(); ) {
            n++;
        }
        show("types", n > 10 ? "more than 10" : n);
        n = 0;
        for (ResultSet r = m.getClientInfoProperties(); r.next(); ) {
            n++;
        }
        show("client info", n);
        show("keywords", m.getSQLKeywords().contains("ilike"));
        show("longest name", m.getMaxColumnNameLength());
        show("privileges", rows(m.getTablePrivileges(null, "public", "visits"), "GRANTEE", "PRIVILEGE"));
    }

    static void ask(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) AS n FROM visits WHERE sex = ? AND smoker = ?")) {
            for (int i = 0; i < 7; i++) { // from the fifth time on, pgjdbc prepares it on the server
                s.setString(1, "F");
                s.setBoolean(2, true);
                ResultSet r = s.executeQuery();
                r.next();
                show("released women", r.getLong(1));
            }
            show("types", s.getMetaData().getColumnName(1) + " " + s.getMetaData().getColumnTypeName(1));
            ParameterMetaData p = s.getParameterMetaData();
            show("parameters", p.getParameterTypeName(1) + " " + p.getParameterTypeName(2));
        }
        try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM visits WHERE age >= ?")) {
            s.setInt(1, 65);
            ResultSet r = s.executeQuery();
            r.next();
            show("released old", r.getLong(1));
        }
        try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM visits WHERE admitted < ?")) {
            s.setObject(1, java.time.LocalDate.of(2024, 3, 1));
            ResultSet r = s.executeQuery();
            r.next();
            show("released spring", r.getLong(1));
        }
        try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM visits WHERE ward = ANY (?)")) {
            s.setArray(1, c.createArrayOf("text", new Object[] {"cardiology", "surgery"}));
            ResultSet r = s.executeQuery();
            r.next();
            show("released listed", r.getLong(1));
        }
        try (PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM visits WHERE admitted >= ?")) {
            s.setDate(1, java.sql.Date.valueOf("2024-10-01"));
            ResultSet r = s.executeQuery();
            r.next();
            show("released autumn", r.getLong(1));
            s.setTimestamp(1, Timestamp.valueOf("2024-10-01 00:00:00"));
            r = s.executeQuery();
            r.next();
            show("released autumn", r.getLong(1));
        }
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.setFetchSize(2);
            show("released groups", rows(s.executeQuery("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"), "ward", "n"));
            ResultSet r = s.executeQuery("SELECT * FROM wards ORDER BY floor");
            ResultSetMetaData m = r.getMetaData();
            for (int i = 1; i <= m.getColumnCount(); i++) {
                show("column", m.getColumnLabel(i) + " " + m.getColumnTypeName(i) + " " + m.getTableName(i) + " " + m.isNullable(i) + " " + m.isAutoIncrement(i));
            }
            show("wards", rows(r, "ward", "floor", "area"));
        }
        c.rollback();
        show("syntax", fails(c, "SELEC 1"));
        show("failed", fails(c, "SELECT 1"));
        c.rollback();
        show("unknown", fails(c, "SELECT COUNT(*) FROM nowhere"));
        c.rollback();
        Savepoint point = c.setSavepoint("here");
        show("syntax", fails(c, "SELEC 1"));
        c.rollback(point);
        c.commit();
        c.setReadOnly(true);
        show("read only", rows(c.createStatement().executeQuery("SELECT 1 AS one"), "one"));
        c.commit();
        c.setAutoCommit(true);
        c.setReadOnly(false);
        c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        show("isolation", c.getTransactionIsolation());
        show("valid", c.isValid(5));
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(30);
            show("again", rows(s.executeQuery("SELECT 1 AS one"), "one"));
            s.setMaxRows(1);
            show("one row", rows(s.executeQuery("SELECT ward FROM wards ORDER BY floor"), "ward"));
        }
    }
}
